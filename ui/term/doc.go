// Package term is a terminal emulator for panes and for full-screen attach.
//
// [Terminal] takes the bytes of a program and keeps the screen, the scroll-back
// and the modes; [EncodeKey], [EncodeMouse] and [EncodePaste] turn events into
// the bytes the program expects under those modes; [Widget] draws a Terminal
// into a rectangle; [Session] joins a byte stream and a Terminal with bounded
// buffers, so that neither a flood of output nor a stuck transport stops the
// dashboard.
//
// Input is untrusted: every size, count and string is clamped, and a failure
// inside the emulator resets that terminal and is recorded, it never leaves
// [Terminal.Write].
package term
