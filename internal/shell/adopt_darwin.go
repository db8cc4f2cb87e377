package shell

func adopt() {}
