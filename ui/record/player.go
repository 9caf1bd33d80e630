package record

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Screen is what a recording is played on.
type Screen interface {
	Write(p []byte) (int, error)
	Resize(cols, rows int)
	Reset()
}

// Player plays a recording on a screen, at any place of it. One call at a time
// does work; Position may be asked meanwhile.
type Player struct {
	rec    *Recording
	screen Screen
	work   sync.Mutex

	mu   sync.Mutex
	next int
	pos  time.Duration
}

// NewPlayer stands at the start of a recording.
func NewPlayer(r *Recording, s Screen) *Player {
	s.Resize(r.Header.Width, r.Header.Height)
	return &Player{rec: r, screen: s}
}

// Position is how far the recording has been played.
func (p *Player) Position() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pos
}

// Next is the time of the next event; ok is false at the end.
func (p *Player) Next() (at time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next >= p.rec.Len() {
		return p.rec.Length(), false
	}
	return p.rec.At(p.next), true
}

// Seek plays to a time; to go back it plays from the start.
func (p *Player) Seek(ctx context.Context, to time.Duration) error {
	p.work.Lock()
	defer p.work.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	to = min(max(to, 0), p.rec.Length())
	p.mu.Lock()
	next, pos := p.next, p.pos
	p.mu.Unlock()
	if to < pos {
		next = 0
		p.screen.Reset()
		p.screen.Resize(p.rec.Header.Width, p.rec.Header.Height)
	}
	return p.play(ctx, next, p.rec.After(to), to)
}

// play runs events next..until-1.
func (p *Player) play(ctx context.Context, next, until int, to time.Duration) error {
	for ; next < until; next++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := p.rec.Event(next)
		if err != nil {
			return err
		}
		switch e.Kind {
		case Output:
			if _, err := p.screen.Write([]byte(e.Data)); err != nil {
				return err
			}
		case Resize:
			var cols, rows int
			if n, _ := fmt.Sscanf(e.Data, "%dx%d", &cols, &rows); n == 2 && cols > 0 && rows > 0 {
				p.screen.Resize(min(cols, maxCells), min(rows, maxCells))
			}
		}
		p.mu.Lock()
		p.next, p.pos = next+1, e.At
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.next, p.pos = next, to
	p.mu.Unlock()
	return nil
}

// searchWindow is how much text before an event a match may begin in.
const searchWindow = 4096

// Search looks for text in what was written after a time, or before it, and
// returns the time at which it was complete. Colours and cursor moves are left
// out of the text; case counts only if the query has a capital.
func (r *Recording) Search(ctx context.Context, query string, from time.Duration, older bool) (at time.Duration, found bool, err error) {
	fold := !strings.ContainsFunc(query, unicode.IsUpper)
	if fold {
		query = strings.ToLower(query)
	}
	if query == "" {
		return 0, false, nil
	}
	var tail string
	var last time.Duration
	for i := range r.Len() {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		if older && r.At(i) >= from {
			return last, found, nil
		}
		e, err := r.Event(i)
		if err != nil {
			return 0, false, err
		}
		if e.Kind != Output {
			continue
		}
		text := ansi.Strip(strings.ReplaceAll(e.Data, "\r", ""))
		if fold {
			text = strings.ToLower(text)
		}
		joined := tail + text
		hit := strings.LastIndex(joined, query)
		isNew := hit >= 0 && hit+len(query) > len(tail)
		if isNew && !older && e.At > from {
			return e.At, true, nil
		}
		if isNew {
			last, found = e.At, older
		}
		tail = joined[max(0, len(joined)-searchWindow):]
		if hit >= 0 && len(joined)-hit-len(query) < len(tail) {
			tail = joined[hit+len(query):]
			tail = tail[max(0, len(tail)-searchWindow):]
		}
	}
	return last, found && older, nil
}
