// Package drill reads the scenarios of drills, and plays them on a running service as an editor's
// client does.
//
// Everything that a scenario creates is marked as a drill: hazards have the category EXERCISE;
// names, titles, file names, descriptions and texts begin with EXERCISE. A scenario names hazards
// by keys of its own, from which their UUIDs are made, so it can refer to no others. Before a
// hazard is changed, it is read, and left alone unless its category is EXERCISE.
//
// A scenario is checked completely, with its files, before anything is played. Parse is a pure
// function of the text and its folder.
//
// A drill ends what it began: when it is over or interrupted, and an hour after its end if the
// program was killed. End ends what an earlier run of the same scenario left behind, which its
// UUIDs show.
package drill
