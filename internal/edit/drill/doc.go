// Package drill holds drills: it reads scenarios, and plays them on a running service as an editor's client does.
//
// Whatever a scenario says, what is played of it is a drill and looks like one: every hazard has the category EXERCISE, every name, title and
// file name begins with EXERCISE, every description and text says so first. A scenario names hazards by words of its own; their uuids are
// made here, so that it can name no other. Before a hazard is altered it is read, and left alone unless it is of the category EXERCISE.
//
// A scenario is checked whole, with its files, before anything is played. Parse is a pure function of the text and the folder it stands in.
//
// What a drill began it ends: when its time is over, when it is interrupted, and, if the program was killed, an hour after its time by
// itself. End ends what an earlier run of the same scenario has left: the uuids tell.
package drill
