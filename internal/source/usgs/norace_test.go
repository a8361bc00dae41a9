//go:build !race

package usgs

const raced = false
