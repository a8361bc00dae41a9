// Package encoded makes the bodies of answers: encoded, compressed, with entity tags.
//
// A Body is encoded once and sent to any number of readers at once. Lists keeps the bodies for the
// current view of the active hazards, one for each filter, form, audience and choice of languages,
// and drops them with the view. Budget and Readers limit the memory that answers take, Turns the processors, and Paced
// the time that a slow reader may take. The package knows neither routes nor SQL.
package encoded
