// Package scaffold writes new template folders. [New] makes the files in
// memory, [Compare] says what writing them would change, [Write] writes them.
package scaffold
