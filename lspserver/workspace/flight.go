package workspace

// An edit on its way into an open document is in one of these states, and the table says what leads from one to the next: nothing else
// decides whether an edit has landed. The table is pure. The goroutine of the edit feeds it and acts on what comes out.

// state is where an edit is.
type state uint8

const (
	sent    state = iota // the reply is still to come
	seen                 // the reply is still to come, and the document has the edit already
	strayed              // the reply is still to come, and the document has the edit at the places of an older text
	held                 // the editor says that it has applied the edit, and has not told of the change yet
	passed               // held, but the editor had told of another change since the edit was sent: it passes over edits for an older text

	ready     // nothing of it is in the text: it is rebased over what has arrived, and sent again
	misplaced // it is to be reverted, and then sent again
	landed
	unknown // it may be in the text
)

// input is what an edit on its way meets: the reply, a change of the document as the follower takes it, or the end of its time.
type input uint8

const (
	yes       input = iota // the editor has applied it
	no                     // the editor has not applied it
	broken                 // the request failed
	complete               // the document has the edit
	elsewhere              // the document has it at the places of an older text
	begun                  // the document has a part of it
	met                    // somebody else has changed what it changes
	without                // the document has nothing of it
	request                // the client has sent a request about the document: all its changes came before
	timeUp
)

// flights is the table. Changes come in order: what an editor has applied is in the first change that it tells of after its yes.
var flights = [...][10]state{
	//        yes        no     broken     complete elsewhere  begun    met      without  request  timeUp
	sent:    {held, ready, ready, seen, strayed, sent, sent, sent, sent, unknown},
	seen:    {landed, ready, landed, seen, strayed, seen, seen, seen, seen, landed},
	strayed: {misplaced, ready, misplaced, seen, strayed, strayed, strayed, strayed, strayed, misplaced},
	held:    {held, held, held, landed, misplaced, held, unknown, ready, ready, held},
	passed:  {passed, passed, passed, landed, misplaced, passed, unknown, ready, ready, ready},
}

// next is the state after an input.
func (s state) next(in input) state {
	if s.over() {
		return s
	}
	return flights[s][in]
}

// over reports that nothing more is waited for.
func (s state) over() bool { return s >= ready }
