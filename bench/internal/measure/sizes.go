package measure

import (
	"strconv"
	"strings"
)

// Sizes reads the value of a flag that lists numbers, separated by commas.
func Sizes(list string) (sizes []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
