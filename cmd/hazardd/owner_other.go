//go:build !unix

package main

func ofAnother(string) bool { return false }
