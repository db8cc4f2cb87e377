package resume

import (
	"flag"
)

var updateViews = flag.Bool("update-views", false, "write the golden views anew")
