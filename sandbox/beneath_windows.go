package sandbox

import "io/fs"

const dontWait = 0

// linksOf says that a file has one name: how many it has is not to be had from what os tells.
func linksOf(fs.FileInfo) uint64 { return 1 }
