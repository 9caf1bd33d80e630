package ui

import tea "charm.land/bubbletea/v2"

// SecondForTest is the message of the timer behind TickMsg.
func SecondForTest() tea.Msg { return secondMsg{} }
