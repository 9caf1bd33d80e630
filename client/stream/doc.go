// Package stream holds what lives longer than one call: the goroutine that owns
// the read side of a process ([Pump]), the bounded places its output goes to
// ([Ring] for logs, [Buffer] for terminals), and the [Signal] that tells a
// screen once per frame that there is something new.
//
// Output is merged here, before it becomes messages: a stream costs a screen at
// most one wake-up a frame, whatever it carries. Ends and errors never take the
// lossy path; see [Pump.Done] and [Pump.Result].
package stream
