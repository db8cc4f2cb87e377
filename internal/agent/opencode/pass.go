package opencode

import (
	"context"
	"slices"
	"time"

	"resumed/internal/resume"
)

// pass is one look at a database in the making.
type pass struct {
	book     *book
	db       *database
	now      time.Time
	sessions map[string]conversation // those that were looked up
	news     news
}

// readEnds reads how every session stands, at first sight.
func (p *pass) readEnds(ctx context.Context) error {
	ends, last, err := p.db.ends(ctx)
	if err != nil {
		return err
	}
	all, err := p.db.conversations(ctx)
	if err != nil {
		return err
	}
	fresh := &p.news.cursor
	fresh.Row, fresh.ID = last.row, last.id
	clear(fresh.Open)
	for _, c := range all {
		fresh.SeenMS = max(fresh.SeenMS, c.createdMS)
		if c.parent != "" || c.archived {
			continue // a child is its parent's business, an archived one nobody's
		}
		for i, r := range slices.Backward(ends[c.id]) {
			found, err := p.db.messages(ctx, "WHERE rowid = ?", r.row)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				continue
			}
			spoke, err := p.take(ctx, c, found[0], i == len(ends[c.id])-1, true)
			if err != nil {
				return err
			}
			if spoke {
				break
			}
		}
	}
	return nil
}

// readOn reads the rows that are new, and again those that were open.
func (p *pass) readOn(ctx context.Context) error {
	next := &p.news.cursor
	var fresh []message
	for _, id := range next.Open {
		found, err := p.db.messages(ctx, "WHERE id = ?", id)
		if err != nil {
			return err
		}
		fresh = append(fresh, found...)
	}
	clear(next.Open)
	added, err := p.db.messages(ctx, "WHERE rowid > ? ORDER BY rowid", next.Row)
	if err != nil {
		return err
	}
	if len(added) > 0 {
		last := added[len(added)-1]
		next.Row, next.ID = last.row, last.id
	}
	fresh = append(fresh, added...)

	newest := make(map[string]message)
	for _, m := range fresh {
		if was, ok := newest[m.session]; !ok || was.compare(m) < 0 {
			newest[m.session] = m
		}
	}
	seenMS := next.SeenMS
	for _, m := range fresh {
		c, found, err := p.conversation(ctx, m.session)
		if err != nil {
			return err
		}
		if !found || c.parent != "" || c.archived {
			continue
		}
		next.SeenMS = max(next.SeenMS, c.createdMS)
		// What is met after the daemon was away may be old news.
		first := !p.book.live && c.createdMS > seenMS
		if _, err := p.take(ctx, c, m, newest[m.session].id == m.id, first); err != nil {
			return err
		}
	}
	p.bound(newest)
	return nil
}

func (p *pass) conversation(ctx context.Context, id string) (conversation, bool, error) {
	if c, ok := p.sessions[id]; ok {
		return c, true, nil
	}
	c, found, err := p.db.conversation(ctx, id)
	if found {
		p.sessions[id] = c
	}
	return c, found, err
}

// take notes what a message says and reports whether it says anything. last is
// whether it is its session's last one.
func (p *pass) take(ctx context.Context, c conversation, m message, last, first bool) (bool, error) {
	s := m.said
	if m.long {
		p.news.long = append(p.news.long, m)
	}
	switch s.meaning {
	case nothing:
		return false, nil
	case pending:
		if last {
			p.wait(c, m.id, s)
		}
		return false, nil
	case broken:
		compacted, err := p.db.compacted(ctx, c.id, s.atMS)
		if err != nil || compacted {
			return false, err
		}
		if age := p.now.Sub(time.UnixMilli(s.atMS)); last && age.Abs() < hesitation {
			p.wait(c, m.id, s)
			p.news.again = true
			return false, nil
		}
	case prompted, moved, cancelled, failed:
	}
	event := s.Event(p.book.reader)
	switch ev := event.(type) {
	case resume.Limited:
		ev.First = first
		event = ev
	case resume.Prompted:
		parts, err := p.db.parts(ctx, "m.id = ?", m.id)
		if err != nil {
			return false, err
		}
		if len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return !p.own() }) {
			ev.By = p.book.agent + " itself"
			event = ev
		}
	}
	p.news.observations = append(p.news.observations, p.book.observation(c, s, event))
	return true, nil
}

// wait has the message read again: it is not over.
func (p *pass) wait(c conversation, id string, s Said) {
	p.news.cursor.Open[c.id] = id
	if p.news.open == nil {
		p.news.open = make(map[string]standing)
	}
	p.news.open[c.id] = standing{said: s, session: c}
}

// bound forgets the oldest of too many open messages.
func (p *pass) bound(newest map[string]message) {
	open := p.news.cursor.Open
	if len(open) <= maxOpen {
		return
	}
	var refs []message
	for session := range open {
		refs = append(refs, newest[session])
	}
	slices.SortFunc(refs, message.compare)
	for _, m := range refs[:len(refs)-maxOpen] {
		delete(open, m.session)
	}
}

// observation says what happened to a session. One data directory is one account,
// and each provider that is asked from there has its own limit.
func (b *book) observation(c conversation, s Said, event resume.Event) resume.Observation {
	var made time.Time
	if c.createdMS > 0 {
		made = time.UnixMilli(c.createdMS).UTC()
	}
	return resume.Observation{
		Key:        resume.Key{Agent: b.agent, ID: c.id},
		Account:    b.account,
		Provider:   s.record.provider(),
		Cwd:        c.directory,
		Transcript: b.path,
		Made:       made,
		Kind:       c.kind(),
		Pos:        resume.Position{Epoch: epoch, Offset: s.atMS},
		Event:      event,
	}
}
