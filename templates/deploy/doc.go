// Package deploy turns a template folder into a template at a provider: it
// builds the image with a Docker engine, pushes it, creates or updates the
// template and follows the provider's build to its end. Nothing is ever
// written into the user's folder: what a build needs besides it is added to
// the stream that the engine reads.
package deploy
