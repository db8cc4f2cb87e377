package webui

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A browser that opens the page asks for one document, and for what the page shows.
func TestThePageIsOneDocument(t *testing.T) {
	html := ask(newPage(t, &board{}), "GET", "/", "", nil).Body.String()
	require.NotRegexp(t, `<(script|link|img|iframe)[^>]* (src|href)="(/|http)`, html, "nothing waits for a second request")
	start, module := strings.Index(html, "'events'"), strings.Index(html, `<script type="module">`)
	require.Positive(t, start)
	require.Less(t, start, module, "the daemon is asked before the rest of the page is read")
}

// What runs in the page is what stands in it, by its hash: whatever else comes into it does not run.
func TestOnlyThePagesOwnPartsRun(t *testing.T) {
	answer := ask(newPage(t, &board{}), "GET", "/", "", nil)
	allowed := map[string]string{}
	for directive := range strings.SplitSeq(answer.Header().Get("Content-Security-Policy"), "; ") {
		name, values, _ := strings.Cut(directive, " ")
		allowed[name] = values
	}
	hashes := func(tag string) string {
		var all []string
		for _, part := range regexp.MustCompile(`(?s)<`+tag+`[^>]*>(.*?)</`+tag+`>`).FindAllStringSubmatch(answer.Body.String(), -1) {
			hash := sha256.Sum256([]byte(part[1]))
			all = append(all, "'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'")
		}
		return strings.Join(all, " ")
	}
	require.Equal(t, map[string]string{
		"default-src": "'none'", "script-src": hashes("script"), "style-src": hashes("style"), "connect-src": "'self'", "img-src": "'self' data:",
		"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	}, allowed)
}

// Modules are joined in the order in which they need each other, and each keeps its names to itself.
func TestModulesAreJoined(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	from := fstest.MapFS{
		"files/page.js": file("import {a, Tall} from './top.js';\nimport {b} from './low.js';\nconst few = a(b);\n"),
		"files/top.js":  file("import {b} from './low.js';\nconst few = 1;\nexport async function a(x) {\n  return b + x + few;\n}\nexport class Tall {}\n"),
		"files/low.js":  file("// at the end\nexport const b = 2;\nexport function c() {}\n"),
	}
	require.Equal(t, `
// low.js
const low_js = (() => {
// at the end
const b = 2;
function c() {}

return {b, c};
})();

// top.js
const top_js = (() => {
const {b} = low_js;
const few = 1;
async function a(x) {
  return b + x + few;
}
class Tall {}

return {a, Tall};
})();

// page.js
const page_js = (() => {
const {a, Tall} = top_js;
const {b} = low_js;
const few = a(b);

return {};
})();
`, join(from))

	from["files/low.js"] = file("export let b = 2;\n")
	require.PanicsWithValue(t, "low.js: cannot be joined: export let b = 2;", func() { join(from) }, "what is not understood is not sent")
}
