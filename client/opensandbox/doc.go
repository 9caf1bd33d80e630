// Package opensandbox is the provider for OpenSandbox servers: their own
// lifecycle API, and execd, the daemon inside every sandbox. There are no
// templates there; what a sandbox is made from is an image, a snapshot
// ("snapshot:<id>") or a warm pool ("pool:<name>").
//
// Section numbers in comments without a name are those of the opensandbox
// reference.
package opensandbox
