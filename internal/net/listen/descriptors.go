package listen

// Share returns how many of the process's file descriptors connections may take: what is wanted, but
// never what the rest of the program needs, which is an eighth of all, or 256 if there are enough:
// the store, sources, webhooks and product files. Where the number of descriptors is not known, all
// that is wanted.
func Share(wanted int) int { return share(wanted, descriptors()) }

func share(wanted, descriptors int) int {
	if descriptors <= 0 {
		return wanted
	}
	reserved := min(max(descriptors/8, 256), descriptors/2)
	return max(1, min(wanted, descriptors-reserved))
}
