// Package keeper runs commands below a process of their own, the keeper, so that nothing of a command outlives it, and
// confines them, where that is asked for.
//
// The keeper is the running program itself, started again under another name. A command is its child, and so is whatever
// loses its parent below it, also in a session of its own or after a double fork. So "the keeper has no children" is exactly
// "nothing of the command is left", and the kernel says it with ECHILD. Once the command has ended, the keeper kills what is
// left, until that is so. The socket through which it is told what to run is also its death pipe: the end of it, however
// the server ended, kills everything below the keeper and ends it. A keeper runs one command at a time, so two commands never
// share descendants, and one after the other as many as it is given, since starting this program costs more than most
// commands.
//
// There are three kinds of keepers, which differ in what they do before a command starts:
//
//   - Without Bounds it is the subreaper of its commands, which have the same rights as the keeper.
//   - With Bounds it calls confine.Restrict on the thread that then forks: Landlock, seccomp, no capabilities. The thread starts
//     the next command too while its confine.Basis holds; otherwise a new one is restricted.
//   - With Bounds.Namespaces it is also the first process (pid 1, "init") of a user, mount, PID, IPC and network namespace. The
//     mounts are made of the rules of the policy (see view), once, and are compared with the rules before each command.
//
// In a PID namespace the kernel does what the keeper does elsewhere by itself: kill(-1) reaches every process of the command
// at once, all of it dies with the keeper, and no process in there can kill or stop the first one. A keeper without
// namespaces can be stopped by its commands. The server therefore continues it (SIGCONT) with each message, and the kernel
// does when the server ends. Destroy ends a keeper that does not answer even so.
//
// What is not promised without namespaces: a command can kill its keeper. Then the kernel kills the program that the keeper
// started, and the process group is killed, but not what has left that group; nor the group, where the keeper was killed before
// it could name it. And a command that stops its keeper again and again may outlive a server that was killed.
//
// The package works on Linux alone; elsewhere it is empty.
package keeper

// ProxyAddress is where commands whose network is a proxy find it.
const ProxyAddress = "127.0.0.1:47801"
