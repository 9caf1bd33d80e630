// Package ui is the shell around the screens: the one Bubble Tea model
// ([Root]), routing, overlays, toasts, the status line and help. It knows
// nothing about sandboxes; package main hands it screen constructors.
package ui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"abxdash/keymap"
	"abxdash/theme"
	"abxdash/ui/lang"
)

// Screen is one full-window view. Screens are plain structs driven by Root
// only: Update never does I/O, never sleeps and never takes a lock that is held
// during I/O; commands never touch the screen.
type Screen interface {
	// Init is called once, before anything else. The screen's own work hangs
	// on a context derived from env.Ctx.
	Init(env Env) tea.Cmd
	// Update gets actions (ActionMsg), results, and time. It gets raw key
	// presses and pastes only while Captures is true.
	Update(msg tea.Msg) tea.Cmd
	// Draw paints into area of scr and returns the cursor to show, in screen
	// coordinates, or nil.
	Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor
	// Keys lists the contexts whose bindings apply, most specific first.
	Keys() []keymap.Context
	// Title names the screen in the header, the window title and help.
	Title() string
	// Close cancels what the screen started; after it no goroutine of the screen is alive.
	Close()
}

// Env is what a screen gets from the shell.
type Env struct {
	Ctx   context.Context
	Theme *theme.Theme
	Keys  *keymap.Map
	Now   func() time.Time
	// Lang turns the texts of screens into the user's language; nil is English.
	Lang *lang.Catalog
	// Pace tells the shell how soon a change is to be seen; nil does nothing.
	Pace *Pace
}

// How keys reach a screen
//
// esc (keymap.NavBack) comes to the screen as an ActionMsg: it leaves its own
// mode (search, filter, range) or returns [Back]. The bottom screen does
// nothing when it has no mode to leave. Overlays return [CloseOverlay].
// q (keymap.NavQuit) never reaches a screen: Root goes back one level, or quits.
// Contexts keymap.Global and keymap.Always are added by Root.

// Capturer is a screen, tab or overlay that can take raw keys (a text field, a
// terminal). While Captures is true it receives tea.KeyPressMsg and
// tea.PasteMsg; a key it does not want is simply ignored by it. Two things
// never come raw: ctrl+c and ctrl+z, unless keymap.Shell is among its Keys, and
// what begins with the leader when it is: leader sequences are resolved by
// Root and arrive as ActionMsg (keymap.ShellDetach …). A second key that is not
// bound arrives raw together with the leader before it.
type Capturer interface{ Captures() bool }

// Interrupter is a capturing screen that has a use of its own for ctrl+c, such
// as stopping the command it shows; false leaves it to the shell, which asks to quit.
type Interrupter interface {
	Interrupt() (cmd tea.Cmd, handled bool)
}

// Disabler tells why an action cannot be used now; "" means it can. Help and
// the footer grey such actions and show the reason, and Root shows it as a
// toast instead of delivering the action.
type Disabler interface {
	Disabled(a keymap.Action) string
}

// Staker names what would be lost by leaving now, one short line each.
// Quitting at the list asks only if something is at stake.
type Staker interface{ AtStake() []string }

// Survivor names what goes on without us, such as a shell that outlives the
// dashboard; it is mentioned on quit, never asked about.
type Survivor interface{ Survives() []string }

// Timed is a screen that knows what passing time changes on it. Signature is
// asked once a second of the screen on top; while it stays the same and no
// message came, nothing is drawn.
type Timed interface{ Signature() uint64 }

// Titled is a screen that has something to say in the window's title, such as
// counts; "" is its Title.
type Titled interface{ WindowTitle() string }

// Background is work that outlives any one screen: the kill queue, shell
// sessions, the stores. Root delivers every message to it that is not a raw
// key, and every global action before the screens see it.
type Background interface {
	Init(env Env) tea.Cmd
	// Update returns handled=true to stop an ActionMsg from going further.
	Update(msg tea.Msg) (cmd tea.Cmd, handled bool)
	// Status is shown in the status line when not empty, e.g. "killing 3 in 4 s  z undo".
	Status() string
	Close()
}

// Overlay is a modal box over the current screen. It gets actions of its own
// contexts and, while it captures, raw keys; nothing below it does.
type Overlay interface {
	Init(env Env) tea.Cmd
	Update(msg tea.Msg) tea.Cmd
	// Size is the wanted outer size within max, borders included.
	Size(maxW, maxH int) (w, h int)
	Draw(scr uv.Screen, area uv.Rectangle) *tea.Cursor
	Keys() []keymap.Context
	Title() string
	Close()
}

// Route names a screen constructor in Options.Routes.
type Route string

// Params is what a route is opened with. Value is the screen's own parameter
// struct; the constructor asserts it.
type Params struct {
	Value any
}

// Messages that screens return from commands to ask something of the shell.
type (
	// ActionMsg is a key, palette entry or ":" command resolved to an action.
	ActionMsg struct {
		Action keymap.Action
		// Arg is what followed a ":" command, else "".
		Arg string
	}
	// OpenMsg pushes a screen.
	OpenMsg struct {
		Route  Route
		Params Params
	}
	// BackMsg pops the current screen; at the bottom it asks to quit.
	BackMsg struct{}
	// OverlayMsg opens a modal box on top.
	OverlayMsg struct{ Overlay Overlay }
	// CloseOverlayMsg closes the given overlay, or the top one if nil.
	CloseOverlayMsg struct{ Overlay Overlay }
	// ToastMsg shows one line for a few seconds and keeps it in the message history.
	ToastMsg struct {
		Level ToastLevel
		Text  string
	}
	// ThemeMsg announces a new theme, e.g. when the background colour became known.
	ThemeMsg struct{ Theme *theme.Theme }
	// TickMsg arrives once a second while anything is on screen; it carries Root's clock.
	TickMsg struct{ Now time.Time }
	// FocusMsg tells whether the terminal has the focus; pollers slow down without it.
	FocusMsg struct{ Focused bool }
	// ThemeNameMsg changes to another theme, one of theme.Names.
	ThemeNameMsg struct{ Name string }
	// KeysMsg brings other keys, e.g. when the configuration file was changed.
	KeysMsg struct{ Keys *keymap.Map }
	// QuitMsg asks to quit; Root asks back if something is at stake. Then, if
	// set, is called when the program is really left.
	QuitMsg struct{ Then func() }
)

// ToastLevel is how a toast is marked.
type ToastLevel uint8

// Toast levels.
const (
	ToastInfo ToastLevel = iota
	ToastOK
	ToastWarn
	ToastError
)

// Back returns a command that leaves the current screen.
func Back() tea.Cmd { return Cmd(BackMsg{}) }

// OpenOverlay returns a command that opens a modal box.
func OpenOverlay(o Overlay) tea.Cmd { return Cmd(OverlayMsg{Overlay: o}) }

// CloseOverlay returns a command that closes a modal box, the top one if o is nil.
func CloseOverlay(o Overlay) tea.Cmd { return Cmd(CloseOverlayMsg{Overlay: o}) }

// Do returns a command that runs an action as if its key had been pressed.
func Do(a keymap.Action) tea.Cmd { return Cmd(ActionMsg{Action: a}) }

// Cmd wraps a message as a command.
func Cmd(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Open returns a command that opens a route.
func Open(r Route, value any) tea.Cmd { return Cmd(OpenMsg{Route: r, Params: Params{Value: value}}) }

// Toast returns a command that shows a toast.
func Toast(l ToastLevel, text string) tea.Cmd { return Cmd(ToastMsg{Level: l, Text: text}) }
