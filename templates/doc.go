// Package templates reads, checks and describes sandbox templates: the folder
// with template.yaml, Dockerfile and commands.py of which a provider makes
// sandboxes. It draws nothing and calls no provider.
//
//   - [Parse] reads template.yaml and reports every mistake at once, with its
//     line and column; [Template.Check] applies the rules of a [Target].
//   - [LintDockerfile] and [CheckCommands] do the same for the other two files.
//   - [ScanContext] says what a build would send.
//   - [Lint] does all of that for one folder.
//
// Sub-packages: scaffold writes new folders, check runs one in a sandbox,
// deploy builds, pushes and creates the template at a provider.
package templates
