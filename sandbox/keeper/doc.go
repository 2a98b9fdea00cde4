// Package keeper runs commands below a process of their own, the keeper, so that nothing of a
// command outlives it, and confines them, where that is asked for.
//
// The keeper is the running program itself, started again under another name. A command is its
// child, and so is whatever loses its parent below it, also in a session of its own or after a
// double fork. So "the keeper has no children" is exactly "nothing of the command is left", and the
// kernel says it with ECHILD. Once the command has ended, the keeper kills what is left, until that
// is so. The socket through which it is told what to run is also its death pipe: the end of it,
// however the server ended, kills everything below the keeper and ends it. A keeper runs one
// command at a time, so two commands never share descendants, and one after the other as many as it
// is given, since starting this program costs more than most commands.
//
// How a command is started, in this order, each time anew:
//
//  1. The keeper makes a thread. Nothing takes back what restricts a thread, so it ends after its command.
//  2. In namespaces the thread gets a copy of the keeper's mounts (its ground) and makes them what the rules of the policy say
//     (show): it clones what is to be seen, makes the world read-only, and attaches the clones.
//  3. It enters the folder. With a handle of the host a command would be outside of the mounts, so there it is entered by its path, and
//     must be the same as that of the handle.
//  4. With Bounds it is restricted by confine.Restrict: limits, no capabilities, Landlock, seccomp. Without Bounds it loses its
//     capabilities.
//  5. It forks, and the program is executed.
//
// The keeper itself never changes: it is neither restricted nor does it see other files than
// before. So one keeper serves commands of any policy, what the host exchanges meanwhile is seen by
// the next command, and what a command has made of its mounts ends with it. Of a command in
// namespaces there stay the content of the private folders (/tmp), its shared memory and the socket
// of the proxy; whoever keeps keepers decides who shares these.
//
// A keeper in namespaces (user, mount, PID, IPC, network) is their first process (pid 1, "init").
// kill(-1) reaches every process of a command at once, all of them die with the keeper, and no
// process in there can kill or stop the first one. A keeper without namespaces finds its
// descendants in /proc, and can be stopped by its commands. The server therefore continues it
// (SIGCONT) with each message, and the kernel does when the server ends. Destroy ends a keeper that
// does not answer even so.
//
// What is not promised without namespaces: a command can kill its keeper. Then the kernel kills the
// program that the keeper started, and the process group is killed, but not what has left that
// group; nor the group, where the keeper was killed before it could name it. And a command that
// stops its keeper again and again may outlive a server that was killed.
//
// The package works on Linux alone; elsewhere it is empty.
package keeper

// ProxyAddress is where commands whose network is a proxy find it.
const ProxyAddress = "127.0.0.1:47801"
