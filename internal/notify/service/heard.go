package service

import (
	"log/slog"
	"time"
)

// connection tells when replies are not heard, and when they are again. Where something between
// here and the server ends every stream after a while, it says so now and then.
type connection struct {
	log    *slog.Logger
	failed int // since the server last said anything
	told   bool
	at     time.Time // when it was told
}

func (c *connection) up() {
	if c.told {
		c.log.Info("replies are heard again")
	}
	c.failed, c.told = 0, false
}

func (c *connection) down(why string) {
	c.failed++
	if now := time.Now(); !c.told && (c.failed > 3 || now.Sub(c.at) >= 10*time.Minute) {
		c.log.Warn("replies are not heard, and it is tried again", "err", why)
		c.told, c.at = true, now
	}
}

// drops tells of replies that no open button sent: each of the first of an hour, and that
// there are more. A flood does not fill the log.
type drops struct {
	log   *slog.Logger
	n     int
	since time.Time
}

const dropsTold = 5 // of an hour

func (d *drops) tell() {
	if now := time.Now(); now.Sub(d.since) >= time.Hour {
		d.n, d.since = 0, now
	}
	switch d.n++; {
	case d.n <= dropsTold:
		d.log.Warn("a reply was dropped: it comes from no button, or from one that was used or is too old")
	case d.n == dropsTold+1:
		d.log.Warn("more replies were dropped, and for an hour no more is said of them")
	}
}
