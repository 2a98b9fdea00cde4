package backend

import (
	"os"
	"os/user"
	"strconv"

	"tandem/agent"
)

// account is the name of the account that the process runs under.
func account() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// Audit gives what the audit has of the calls that q selects, of the sessions of all folders and processes.
func (b *Backend) Audit(q agent.AuditQuery) ([]agent.Audited, error) {
	for _, se := range b.All() {
		se.Written()
	}
	return agent.ReadAudit(b.keeper.store(), q)
}
