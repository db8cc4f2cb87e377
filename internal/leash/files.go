package leash

// Files returns the files that flags of a command line name, as absolute paths.
func (f Flags) Files(args []string, dir string) []string {
	var paths []string
	rows := f.known()
	for _, w := range rows.parse(args) {
		row := rows[w.option]
		if w.option == "" || row.Takes&Path == 0 || row.Effect == Once {
			continue
		}
		for _, value := range w.values() {
			paths = append(paths, absolute(dir, value))
		}
	}
	return paths
}
