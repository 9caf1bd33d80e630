package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// pageTimeout bounds one step of the browser.
	pageTimeout = 30 * time.Second
	maxConsole  = 1000
)

// browser is the one shared page; calls take turns (agent-sandbox-server §5).
type browser struct {
	mu   sync.Mutex
	page *page
}

type browserBody struct {
	URL        string
	Selector   string
	Text       string
	Expression string
	Script     string
	FullPage   bool `json:"full_page"`
}

func (s *Server) browserRoutes() {
	step := func(pattern string, do func(context.Context, *page, *http.Request, browserBody) (any, error)) {
		route(s, groupBrowser, pattern, func(r *http.Request, b browserBody) (any, error) {
			s.browser.mu.Lock()
			defer s.browser.mu.Unlock()
			ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
			defer cancel()
			p, err := s.browser.open(ctx, s)
			if err != nil {
				return nil, err
			}
			return do(ctx, p, r, b)
		})
	}
	step("POST /browser/navigate", func(ctx context.Context, p *page, _ *http.Request, b browserBody) (any, error) {
		return p.navigate(ctx, b.URL)
	})
	step("POST /browser/screenshot", func(ctx context.Context, p *page, _ *http.Request, b browserBody) (any, error) {
		var out struct{ Data string }
		err := p.call(ctx, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": b.FullPage}, &out)
		return map[string]string{"image_base64": out.Data, "format": "png"}, err
	})
	step("POST /browser/pdf", func(ctx context.Context, p *page, _ *http.Request, _ browserBody) (any, error) {
		var out struct{ Data string }
		err := p.call(ctx, "Page.printToPDF", map[string]any{"printBackground": true}, &out)
		return map[string]string{"pdf_base64": out.Data}, err
	})
	step("POST /browser/click", func(ctx context.Context, p *page, _ *http.Request, b browserBody) (any, error) {
		_, err := p.onElement(ctx, b.Selector, "e.scrollIntoView({block: 'center'}); e.click(); return true")
		return done(err)
	})
	step("POST /browser/type", func(ctx context.Context, p *page, _ *http.Request, b browserBody) (any, error) {
		if _, err := p.onElement(ctx, b.Selector, "e.focus(); return true"); err != nil {
			return nil, err
		}
		return done(p.call(ctx, "Input.insertText", map[string]any{"text": b.Text}, nil))
	})
	step("POST /browser/evaluate", func(ctx context.Context, p *page, _ *http.Request, b browserBody) (any, error) {
		if b.Expression == "" {
			b.Expression = b.Script
		}
		if b.Expression == "" {
			return nil, bad("an expression is needed")
		}
		v, err := p.evaluate(ctx, b.Expression)
		return map[string]json.RawMessage{"result": v}, err
	})
	step("GET /browser/content", func(ctx context.Context, p *page, r *http.Request, _ browserBody) (any, error) {
		kind := r.URL.Query().Get("type")
		expression := map[string]string{
			"": "document.documentElement.outerHTML", "html": "document.documentElement.outerHTML", "text": "document.body.innerText",
		}[kind]
		if expression == "" {
			return nil, bad("type must be html or text")
		}
		v, err := p.evaluate(ctx, expression)
		return map[string]json.RawMessage{"content": v}, err
	})
	step("GET /browser/console", func(_ context.Context, p *page, _ *http.Request, _ browserBody) (any, error) {
		return map[string][]consoleLine{"messages": p.drain()}, nil
	})
}

// open starts the browser if none runs.
func (b *browser) open(ctx context.Context, s *Server) (*page, error) {
	if b.page != nil {
		select {
		case <-b.page.gone:
			b.page = nil
		default:
			return b.page, nil
		}
	}
	p, err := s.startPage(ctx)
	if err != nil {
		return nil, err
	}
	b.page = p
	return p, nil
}

// navigate loads a page and waits until it is loaded.
func (p *page) navigate(ctx context.Context, url string) (any, error) {
	if url == "" {
		return nil, bad("a url is needed")
	}
	loaded := p.nextLoad()
	var out struct {
		ErrorText string `json:"errorText"`
		LoaderID  string `json:"loaderId"`
	}
	if err := p.call(ctx, "Page.navigate", map[string]any{"url": url}, &out); err != nil {
		return nil, err
	}
	if out.ErrorText != "" {
		return nil, bad("the page cannot be loaded: %s", out.ErrorText)
	}
	if out.LoaderID != "" { // else it is another place of the same page
		select {
		case <-loaded:
		case <-p.gone:
			return nil, errPageGone
		case <-ctx.Done():
			return nil, errSlowPage
		}
	}
	var now struct{ URL, Title string }
	v, err := p.evaluate(ctx, "({url: location.href, title: document.title})")
	if err == nil {
		err = json.Unmarshal(v, &now)
	}
	return map[string]string{"url": now.URL, "title": now.Title}, err
}

// onElement runs code with e, the first element of a selector.
func (p *page) onElement(ctx context.Context, selector, code string) (json.RawMessage, error) {
	if selector == "" {
		return nil, bad("a selector is needed")
	}
	quoted, err := json.Marshal(selector)
	if err != nil {
		return nil, err
	}
	v, err := p.evaluate(ctx, fmt.Sprintf("(() => { const e = document.querySelector(%s); if (!e) return false; %s })()", quoted, code))
	if err == nil && string(v) == "false" {
		return nil, bad("nothing on the page has that selector")
	}
	return v, err
}

// evaluate runs an expression and gives its value as JSON.
func (p *page) evaluate(ctx context.Context, expression string) (json.RawMessage, error) {
	var out struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	err := p.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	switch {
	case err != nil:
		return nil, err
	case out.Exception != nil:
		text := out.Exception.Exception.Description
		if text == "" {
			text = out.Exception.Text
		}
		return nil, bad("the page says: %s", firstLine(text))
	case out.Result.Value == nil:
		return json.RawMessage("null"), nil
	}
	return out.Result.Value, nil
}
