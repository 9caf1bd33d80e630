// Package credentials finds keys and addresses of providers: per name a flag,
// the process environment, ./.env, ~/.abx/.env and what a [Store] kept, in that
// order; a blank value never counts as set.
//
// Values are secrets: they print as their name, and no error or warning holds
// any part of a value or of a line. Names of the E2B_ and SANDBOX_ families are
// never looked up and never kept, even where a file defines them.
package credentials
