package present

import (
	"strings"
	"time"

	"abxdash/client"
)

// Row is what a column needs to know about one sandbox.
type Row struct {
	Sandbox client.Sandbox
	// Now is the provider's time.
	Now   time.Time
	Stray []string
	Owner Owner
	Rates Rates
	// IdleFor is how long it has used next to no CPU, 0 if that is not known.
	IdleFor time.Duration
}

// Column is one column of the list, on screen and in `abxdash ls` alike.
type Column struct {
	// Key names the column in configuration and for sorting.
	Key   string
	Title string
	// Right aligns numbers and times.
	Right bool
	// Value words the cell; clean.
	Value func(Row) string
}

// Columns returns all columns in their usual order.
func Columns() []Column {
	return []Column{
		{Key: "name", Title: "NAME/ID", Value: func(r Row) string { return Label(r.Sandbox) }},
		{Key: "id", Title: "ID", Value: func(r Row) string { return Clean(string(r.Sandbox.ID)) }},
		{Key: "provider", Title: "PROVIDER", Value: func(r Row) string { return Clean(r.Sandbox.Provider) }},
		{Key: "template", Title: "TEMPLATE", Value: func(r Row) string { return Template(r.Sandbox) }},
		{Key: "state", Title: "STATE", Value: func(r Row) string { return StateWord(r.Sandbox) }},
		{Key: "cpu", Title: "CPU", Right: true, Value: func(r Row) string { return CPU(r.Sandbox.CPU) }},
		{Key: "memory", Title: "MEM", Right: true, Value: func(r Row) string { return Memory(r.Sandbox.MemoryMB) }},
		{Key: "age", Title: "AGE", Right: true, Value: func(r Row) string { return Age(r.Sandbox.StartedAt, r.Now) }},
		{Key: "ttl", Title: "TTL", Right: true, Value: func(r Row) string { return TTL(r.Sandbox, r.Now) }},
		{Key: "cost", Title: "$/H", Right: true, Value: func(r Row) string { return r.Rates.Cost(r.Sandbox) }},
		{Key: "spent", Title: "SPENT", Right: true, Value: func(r Row) string { return MoneyOr(r.Rates.Spent(r.Sandbox, r.Now)) }},
		{Key: "projected", Title: "TO END", Right: true, Value: func(r Row) string { return MoneyOr(r.Rates.Projected(r.Sandbox, r.Now)) }},
		{Key: "isolation", Title: "ISOLATION", Value: func(r Row) string { return IsolationWord(r.Sandbox) }},
		{Key: "owner", Title: "OWNER", Value: func(r Row) string { return r.Owner.Column(r.Sandbox) }},
		{Key: "stray", Title: "STRAY", Value: func(r Row) string { return strings.Join(r.Stray, "; ") }},
	}
}

// ColumnsByKey picks columns by key, in the order asked for; unknown keys are left out.
func ColumnsByKey(keys ...string) []Column {
	all := Columns()
	out := make([]Column, 0, len(keys))
	for _, k := range keys {
		for _, c := range all {
			if c.Key == k {
				out = append(out, c)
			}
		}
	}
	return out
}
