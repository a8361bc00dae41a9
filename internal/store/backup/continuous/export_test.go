package continuous

import "time"

func init() { every = 20 * time.Millisecond }
