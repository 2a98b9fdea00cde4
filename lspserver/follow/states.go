package follow

// An edit on its way into an open document is in one of these states, and the table says what leads from one to the next: nothing else
// decides whether an edit has landed. The table is pure. The goroutine of the edit feeds it and acts on what comes out.

// State is where an edit is.
type State uint8

const (
	Sent    State = iota // the reply is still to come
	Seen                 // the reply is still to come, and the document has the edit already
	Strayed              // the reply is still to come, and the document has the edit at the places of an older text
	Held                 // the editor says that it has applied the edit, and has not told of the change yet
	Passed               // held, but the editor had told of another change since the edit was sent: it passes over edits for an older text

	Ready     // nothing of it is in the text: it is rebased over what has arrived, and sent again
	Misplaced // it is to be reverted, and then sent again
	Landed    // it is in the text
	Unknown   // it may be in the text
)

// Input is what an edit on its way meets: the reply, a change of the document as the follower takes it, or the end of its time.
type Input uint8

const (
	Yes       Input = iota // the editor has applied it
	No                     // the editor has not applied it
	Broken                 // the request failed
	Complete               // the document has the edit
	Elsewhere              // the document has it at the places of an older text
	Begun                  // the document has a part of it
	Met                    // somebody else has changed what it changes
	Without                // the document has nothing of it
	Request                // the client has sent a request about the document: all its changes came before
	TimeUp                 // nothing has come for too long
)

// flights is the table. Changes come in order: what an editor has applied is in the first change that it tells of after its yes.
var flights = [...][10]State{
	//        yes        no     broken     complete elsewhere  begun    met      without  request  timeUp
	Sent:    {Held, Ready, Ready, Seen, Strayed, Sent, Sent, Sent, Sent, Unknown},
	Seen:    {Landed, Ready, Landed, Seen, Strayed, Seen, Seen, Seen, Seen, Landed},
	Strayed: {Misplaced, Ready, Misplaced, Seen, Strayed, Strayed, Strayed, Strayed, Strayed, Misplaced},
	Held:    {Held, Held, Held, Landed, Misplaced, Held, Unknown, Ready, Ready, Held},
	Passed:  {Passed, Passed, Passed, Landed, Misplaced, Passed, Unknown, Ready, Ready, Ready},
}

// Next is the state after an input.
func (s State) Next(in Input) State {
	if s.Over() {
		return s
	}
	return flights[s][in]
}

// Applied reports that the editor has said yes, and has not told of the change yet.
func (s State) Applied() bool { return s == Held || s == Passed }

// Over reports that nothing more is waited for.
func (s State) Over() bool { return s >= Ready }
