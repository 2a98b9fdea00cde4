package mcp

// Retire does for a server what its timer does once nobody has used it for Options.Idle.
func (s *Servers) Retire(name string) {
	for _, v := range s.servers() {
		if v.entry.Name == name {
			v.retire()
		}
	}
}
