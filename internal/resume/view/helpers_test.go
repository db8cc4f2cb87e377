package view

import (
	"flag"
	"time"
)

// strange are times that files may have.
var strange = map[string]time.Time{
	"year -1 in UTC":   time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)),
	"year 10000":       time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -14*3600)),
	"9e15 ms":          time.UnixMilli(9e15),
	"the end of 9999":  time.Unix(253402300799, 0),
	"the first second": time.Unix(-1<<62, 0),
	"the last second":  time.Unix(1<<62, 0),
}

var updateViews = flag.Bool("update-views", false, "write the golden views anew")
