package agent

import (
	"bytes"
	"context"

	"resumed/internal/resume"
	"resumed/internal/usage"
)

// maxWeighLines bounds how far back an answer is searched.
const maxWeighLines = 2000

// Weigh returns false: the size of the context is not known.
func (b *Base) Weigh(context.Context, resume.Session) (resume.Context, bool, error) {
	return resume.Context{}, false, nil
}

// Usage returns false: the agent does not tell how much of its allowances is used.
func (b *Base) Usage(context.Context, resume.Session) (resume.Usage, bool, error) {
	return resume.Usage{}, false, nil
}

// Weigh returns the size of the context that the last answer in the transcript states.
func (t *Transcripts) Weigh(ctx context.Context, s resume.Session) (found resume.Context, known bool, err error) {
	if t.Size == nil {
		return found, false, nil
	}
	visited := 0
	err = LinesBack(ctx, s.Transcript, func(line Line) bool {
		if visited++; !line.Cut {
			found, known = t.Size(line)
		}
		return !known && visited < maxWeighLines
	})
	return found, known, err
}

// WeighAt is Weigh for the last answer before the line, if that is near.
func (t *Transcripts) WeighAt(line Line) (found resume.Context, known bool) {
	if t.Size == nil || line.File == nil {
		return found, false
	}
	room, done := Borrow()
	defer done()
	room = room[:min(line.Offset, firstBlock)]
	at := line.Offset - int64(len(room))
	if n, _ := line.File.ReadAt(room, at); n < len(room) {
		return found, false // the file was truncated meanwhile
	}
	if at > 0 {
		room = room[bytes.IndexByte(room, '\n')+1:]
	}
	line.Before = room
	linesHeld(line, func(line Line) bool {
		found, known = t.Size(line)
		return !known
	})
	return found, known
}

// Readings returns none: the agent does not tell.
func (b *Base) Readings(context.Context, resume.Session) ([]usage.Reading, error) { return nil, nil }
