// Package keeper runs commands below a process of their own, the keeper, so that nothing of a command outlives it.
//
// The keeper is the running program itself, started again under another name. It is the subreaper of what it runs: a
// process below it that loses its parent becomes a child of the keeper, also in a session of its own or after a double
// fork. So "the keeper has no children" is exactly "nothing of the command is left", and the kernel says it with ECHILD.
// Once the command has ended, the keeper kills what is left, until that is so. The socket through which it is told what
// to run is also its death pipe: the end of it, however the server ended, kills everything below the keeper and ends it.
//
// A keeper runs one command at a time, so two commands never share descendants, and one after the other as many as it is
// given, since starting this program costs more than most commands.
//
// A command runs with the same rights as its keeper, so it can stop it. The server continues a keeper (SIGCONT) with each
// message, and the kernel does when the server ends. Destroy ends a keeper that does not answer even so: it kills from the
// server what is below the keeper, and then the keeper.
//
// What is not promised: a command can kill its keeper. Then the kernel kills the program that the keeper started, and the
// process group is killed, but not what has left that group; nor the group, where the keeper was killed before it could
// name it. And a command that stops its keeper again and again may outlive a server that was killed.
//
// The package works on Linux alone; elsewhere it is empty.
package keeper
