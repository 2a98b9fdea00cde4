package backend

import "tandem/tools"

// PutTools puts a layer of tools in, in the place of one of the same rank and name.
func (b *Backend) PutTools(l tools.Layer) {
	_ = b.changeTools(func(s *tools.Set) (*tools.Set, error) { return s.With(l), nil })
}

// TakeTools takes the layer of that rank and name out.
func (b *Backend) TakeTools(rank tools.Rank, name string) {
	_ = b.changeTools(func(s *tools.Set) (*tools.Set, error) { return s.Without(rank, name), nil })
}
