package measure

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ProcessorTime returns how much processor time a process has used. It shows the cost of a request
// even if other programs use the processors too. It returns zero on systems without /proc (outside
// Linux).
func ProcessorTime(pid int) (total time.Duration, err error) {
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	if err != nil {
		return 0, err
	}
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(ns)
	}
	return total, nil
}

// PeakMemory returns the peak memory of a process, in MiB; NaN if unknown.
func PeakMemory(pid int) float64 { return memory(pid, "status", "VmHWM:") }

// OwnMemory returns the memory of a process that is its own (anonymous pages), in MiB; NaN if unknown.
func OwnMemory(pid int) float64 { return memory(pid, "smaps_rollup", "Anonymous:") }

// memory returns a line of a file of /proc, in MiB; NaN if there is none.
func memory(pid int, file, name string) float64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return math.NaN()
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == name {
			kb, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return math.NaN()
			}
			return kb / 1024
		}
	}
	return math.NaN()
}
