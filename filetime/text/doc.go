// Package text holds immutable texts and the edits between them: positions as an
// editor counts them, sets of edits that compose and rebase, a deterministic diff,
// and the search for the text that a model quotes.
//
// Everything here is a pure function of its arguments: no clock, no files, no
// randomness. The unit is the UTF-8 byte offset; [Text.Offset] and [Text.Position]
// convert at the wire. Bytes that no edit names are never changed, whatever they
// are: mixed line ends, a lone CR, a BOM, NULs and invalid UTF-8 all survive.
//
// No offset that this package returns lies inside a rune or between the two bytes
// of a CRLF, since an editor has no position for such a place.
//
// # Two people edit one text
//
// [Rebase] and [RebaseTheirs] bring the edits of the agent and those of the user together,
// both made for the same base. Every edit takes away a range of the base and puts
// text in its place; one that takes nothing away is an insertion. Whatever is not
// named by the following rules lands, and both ways lead to the same text.
//
// Before anything is compared: an insertion may do the same at several places, a line
// beside a line like it, "⏎x" before a line end and "x⏎" after it. It can stand at all
// of them. One that can be whole lines is taken to stand at the last place where it is
// (R15, [SlideLines]), as in a diff of git's, whoever typed it where. Of any other of the
// agent's that can stand where the user's is and is then the same, it is taken to stand
// there (R9).
//
// What lands:
//   - R1. Edits that do not overlap, also where they touch.
//   - R2. What both do alike, once: the same edit, the same insertion, or edits that
//     make the same text of the same range.
//   - R3. Two insertions at one place, the user's first, so that what is typed stays
//     together. The agent's come first where only it puts in whole lines before a line,
//     or only the user does behind one, and where blank lines, or a line such as an else,
//     say that it belongs to what is above. [Rebased].Ties has those whose order is a guess.
//   - R4. Deletions that overlap, as their union.
//
// What is a conflict, since somebody has to decide:
//   - R5. Everything else that overlaps.
//   - R6. A word that would grow together out of text of both sides.
//   - R9. An insertion and another edit that can stand at one place and both make the
//     same line with a word in it: one copy would be too many. Line ends and brackets
//     are no words.
//   - R16. A line of the user's that belongs to the one below it, such as a decorator or a
//     comment, with the agent's insertion between the two; lines of the agent's behind a
//     return of the user's in the same block.
//   - R11. A word that one side replaced or deleted and to which the other adds: word
//     runes that touch it. Of any other insertion that touches a replacement, and of
//     changes at different words of a line, [Rebased].SameLine tells.
//
// And what is kept (R10): if the agent takes away the line end between an insertion of
// the user's and other text, and nothing would be between the two then, neither a blank
// nor a line end, it stays. Models often leave out the last line end of what they quote.
//
// A text that others have changed where the agent's edit was made for it may stand
// elsewhere by now; [Moved] says when that counts (R12).
package text
