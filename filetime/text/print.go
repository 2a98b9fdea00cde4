package text

import "math/bits"

// Printer computes fingerprints of successive versions of a document: equal texts have equal ones,
// and two others have one by chance in about one of 2^61 pairs. It hashes only the chunks that the
// version before did not have. The zero value is ready for use.
type Printer struct {
	parts  []string
	hashes []chunkHash
}

// A fingerprint is a polynomial over the bytes of a text, modulo a Mersenne prime. So it does not
// depend on where the text is cut into chunks. printBase is small enough that four bytes are added
// at a time without an overflow.
const (
	printPrime = 1<<61 - 1
	printBase  = 201_757
	printBase2 = printBase * printBase
	printBase3 = printBase2 * printBase
	printBase4 = printBase3 * printBase % printPrime
	printBase8 = printBase4 * printBase4 % printPrime
)

// chunkHash is the polynomial of a chunk, the factor by which the chunk moves those before it, and
// the polynomial of the text up to its end.
type chunkHash struct{ hash, shift, upTo uint64 }

// Print returns the fingerprint of a text.
func (p *Printer) Print(t Text) uint64 {
	parts := t.chunks().parts
	// Chunks that two versions share are the same memory, so to compare them reads none of it.
	most := min(len(parts), len(p.parts))
	head := 0
	for head < most && parts[head] == p.parts[head] {
		head++
	}
	tail := 0
	for tail < most-head && parts[len(parts)-1-tail] == p.parts[len(p.parts)-1-tail] {
		tail++
	}
	if len(parts) == len(p.parts) {
		for i := head; i < len(parts)-tail; i++ {
			p.hashes[i] = hashChunk(parts[i])
		}
	} else {
		hashes := make([]chunkHash, 0, len(parts))
		hashes = append(hashes, p.hashes[:head]...)
		for _, s := range parts[head : len(parts)-tail] {
			hashes = append(hashes, hashChunk(s))
		}
		p.hashes = append(hashes, p.hashes[len(p.hashes)-tail:]...)
	}
	p.parts = parts
	var whole uint64
	if head > 0 {
		whole = p.hashes[head-1].upTo
	}
	for i := head; i < len(p.hashes); i++ {
		c := &p.hashes[i]
		whole = modPrint(mulPrint(whole, c.shift) + c.hash)
		c.upTo = whole
	}
	return whole
}

// hashChunk adds one to each byte, so that a NUL counts.
func hashChunk(s string) chunkHash {
	c := chunkHash{shift: 1}
	for factor, n := uint64(printBase), len(s); n > 0; n >>= 1 {
		if n&1 == 1 {
			c.shift = mulPrint(c.shift, factor)
		}
		factor = mulPrint(factor, factor)
	}
	four := func(s string) uint64 {
		return modPrint((uint64(s[0])+1)*printBase3 + (uint64(s[1])+1)*printBase2 + (uint64(s[2])+1)*printBase + uint64(s[3]) + 1)
	}
	for ; len(s) >= 8; s = s[8:] {
		c.hash = modPrint(mulPrint(c.hash, printBase8) + mulPrint(four(s[:4]), printBase4) + four(s[4:8]))
	}
	for i := range len(s) {
		c.hash = modPrint(mulPrint(c.hash, printBase) + uint64(s[i]) + 1)
	}
	return c
}

func mulPrint(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return modPrint(low&printPrime + (low>>61 | high<<3))
}

// modPrint reduces a number below 2^64.
func modPrint(a uint64) uint64 {
	if a = a&printPrime + a>>61; a >= printPrime {
		a -= printPrime
	}
	return a
}
