// Package encoded makes the bodies of answers: their encodings, content codings and entity tags.
//
// A Body is encoded once and sent many times, to any number of readers at once. Lists keeps the bodies of the present view of the
// active hazards, one for each filter, form and audience, and drops them with the view. Nothing here knows requests or SQL.
package encoded
