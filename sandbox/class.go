package sandbox

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Class is a set of restrictions on reading and writing a file. A file of several classes has the
// restrictions of all.
type Class uint8

// The restrictions.
const (
	writeAsks Class = 1 << iota
	readAsks
	writeNever
	readNever
	// Linked has further names (hard links), and a change would be written into all of them.
	// Writing it asks.
	Linked
)

// The classes. Own and Internal are "own" in the documentation: no mode, rule or answer permits a
// tool to write them.
const (
	// Plain is every other file.
	Plain Class = 0
	// LaterCode is executed later with the user's rights, or configures a program or a model.
	// Writing it asks in each mode that permits writing, and no stored rule covers it.
	LaterCode = writeAsks
	// Own is .git in every form and .tandem. It may be read.
	Own = writeAsks | writeNever
	// Secret has keys and passwords. Reading and writing ask; searches and lists omit it.
	Secret = writeAsks | readAsks
	// Internal is Tandem's own configuration, the rules beside it, the state and the audit. It may
	// not even be read.
	Internal = Own | Secret | readNever
)

// Is says that the class has every restriction of the other one.
func (c Class) Is(other Class) bool { return c&other == other }

// String names the class by the strictest of its parts.
func (c Class) String() string {
	switch {
	case c.Is(Internal):
		return "internal"
	case c.Is(Own | Secret):
		return "own and secret"
	case c.Is(Secret):
		return "secret"
	case c.Is(Own):
		return "own"
	case c.Is(LaterCode):
		return "later-code"
	case c.Is(Linked):
		return "linked"
	}
	return "plain"
}

// Unlisted says that searches and lists omit files of the class.
func (c Class) Unlisted() bool { return c.Is(Secret) }

// row is one row of the table: one name or several consecutive ones, in lower case, and all that
// lies below. A name may begin or end in *, which stands for any characters.
type row struct {
	names []string
	class Class
	in    place
}

// place is where a row applies: at any depth, or directly in one folder only.
type place uint8

const (
	anywhere place = iota
	inHome         // the home folder of a user
	inEtc          // the settings of the system
)

// depths say how many names the folder of each place has that a path lies below, -1 where it lies
// below none.
type depths [inEtc + 1]int

// nowhere is the depths of a path that lies below no place.
var nowhere = depths{-1, -1, -1}

// holds says that a row of a place applies to the i-th name of a path.
func (d depths) holds(in place, i int) bool { return in == anywhere || d[in] == i }

// table indexes the rows by their first name, and by its 8.3 name (DOS). open are the rows whose
// first name has a *.
type table struct {
	exact, short map[string][]row
	open         []openRow
}

// openRow is a row with what its first name begins with, or ends with.
type openRow struct {
	row
	begin, end string
}

// fits says cheaply that a name may be its first.
func (o *openRow) fits(name string) bool {
	return o.begin != "" && strings.HasPrefix(name, o.begin) || o.end != "" && strings.HasSuffix(name, o.end)
}

var classes = sync.OnceValue(func() *table {
	t := &table{exact: map[string][]row{}, short: map[string][]row{}}
	add := func(class Class, in place, patterns string) {
		for _, p := range strings.Fields(patterns) {
			r := row{strings.Split(p, "/"), class, in}
			if first := r.names[0]; strings.Contains(first, "*") {
				begin, begins := strings.CutSuffix(first, "*")
				end, _ := strings.CutPrefix(first, "*")
				if begins {
					end = ""
				} else {
					begin = ""
				}
				t.open = append(t.open, openRow{r, begin, end})
			} else {
				t.exact[first] = append(t.exact[first], r)
				t.short[shortened(first)] = append(t.short[shortened(first)], r)
			}
		}
	}
	add(Own, anywhere, ".git .tandem")
	// Files that programs execute without a question: hooks, settings of editors and agents, jobs,
	// shells, package managers; and instructions for models.
	add(LaterCode, anywhere, `.gitmodules .gitconfig .husky .githooks .pre-commit-config.yaml lefthook.yml .lefthook.yml
		*.code-workspace .vscode .idea .zed .fleet .helix .cursor .cursorrules .windsurf .windsurfrules .claude .claude.json .agents .gemini .codex .continue
		.aider.conf.yml .mcp.json .devcontainer .devcontainer.json
		.github/workflows .github/actions .gitlab-ci.yml .circleci .travis.yml
		.envrc .envrc.* .direnv .tool-versions .mise.toml mise.toml .mise .asdfrc
		.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .cshrc .tcshrc
		.login .kshrc .inputrc .xprofile .xinitrc .xsession .pam_environment .config/fish .config/autostart .config/systemd .local/bin
		.nvim.lua .nvimrc .vimrc .gvimrc .exrc .vim .config/nvim .config/helix .config/zed .emacs .emacs.d .dir-locals.el .dir-locals-2.el
		.editorconfig .npmrc .yarnrc* .pnpmfile.cjs .pypirc pip.conf .cargo/config .cargo/config.toml .bazelrc bunfig.toml .luarc.json .luarc.jsonc .hg/hgrc sitecustomize.py usercustomize.py .ripgreprc .gdbinit .lldbinit
		agents.md agents.override.md claude.md claude.local.md gemini.md .github/copilot-instructions.md`)
	add(Secret, anywhere, `.env .env.* .netrc _netrc .git-credentials .pgpass .ssh .gnupg .aws .azure .kube .docker .password-store
		.config/gcloud .config/gh .vault-token id_rsa id_rsa.* id_dsa id_dsa.* id_ecdsa id_ecdsa.* id_ed25519 id_ed25519.*`)
	add(Secret, inHome, `.npmrc .pypirc .yarnrc* .mozilla .thunderbird .config/google-chrome .config/chromium .config/microsoft-edge
		.config/bravesoftware .config/code/user/globalstorage .local/share/keyrings .xauthority .iceauthority
		.config/git/credentials .config/hub .config/glab-cli .config/github-copilot .subversion/auth
		.claude.json .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .huggingface .cache/huggingface/token
		.config/rclone .config/doctl .config/fly .fly .config/op .config/sops .config/containers/auth.json .config/helm .config/solana
		.config/.wrangler .wrangler .oci .s3cfg .boto .databrickscfg .snowsql .terraformrc .terraform.d
		.cargo/credentials .cargo/credentials.toml .gem/credentials .composer/auth.json .config/composer/auth.json
		.m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties .ivy2/.credentials .sbt/.credentials .nuget/nuget/nuget.config
		.pip .config/pip .condarc .config/conda .curlrc .config/curlrc .wgetrc .bundle/config .config/configstore .lftprc .config/filezilla
		.config/vivaldi .config/opera .librewolf .waterfox .config/qutebrowser .local/share/qutebrowser .config/epiphany .local/share/epiphany
		.config/chrome-remote-desktop .pki .gnome2/keyrings .kde .local/share/kwalletd .config/keepassxc .config/1password .config/bitwarden
		.config/hcloud .config/scw .config/linode-cli .config/stripe .config/heroku .local/share/heroku .config/netlify .netlify .railway
		.config/ngrok .ngrok2 .local/share/com.vercel.cli .config/remmina .local/share/remmina .dbeaver .local/share/dbeaverdata
		library/keychains library/cookies library/safari
		.my.cnf .authinfo .authinfo.gpg .msmtprc .config/msmtp .bitcoin .ethereum .electrum
		.bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .sqlite_history`)
	// What only the system's administrator may read. A .git is a record of all of it (etckeeper).
	add(Secret, inEtc, `shadow shadow- gshadow gshadow- master.passwd opasswd security/opasswd sudoers sudoers.d doas.conf
		ssh/ssh_host_* ssl/private pki/tls/private pki/ca-trust/private letsencrypt/archive letsencrypt/keys letsencrypt/accounts
		krb5.keytab krb5kdc wireguard ipsec.secrets ipsec.d/private swanctl/private openvpn ppp/chap-secrets ppp/pap-secrets
		wpa_supplicant networkmanager/system-connections netplan credstore credstore.encrypted
		sssd/sssd.conf libvirt/secrets samba/private exim4/passwd.client postfix/sasl_passwd* mysql/debian.cnf .git`)
	add(Internal, inHome, `.config/tandem .local/state/tandem`)
	return t
})

// beginning are the rows whose first name is that one, which is folded.
func (t *table) beginning(name string) []row {
	rows := t.exact[name]
	if stem, ok := shortName(name); ok {
		rows = append(slices.Clone(rows), t.short[stem]...)
	}
	for k := range t.open {
		if o := &t.open[k]; o.fits(name) && matches(o.names[0], name) {
			rows = append(slices.Clone(rows), o.row)
		}
	}
	return rows
}

// classOf is the class of a clean absolute path by its names, see classesIn.
func classOf(names []string, below depths, root int) Class {
	if len(names) == 0 {
		return Plain
	}
	last := len(names) - 1
	return classesIn(names[:last], below, root)(names[last])
}

// classesIn gives the classes of the entries of a folder by its names. below says in which places
// they lie, and root how many names are the root's: a root is not later-code by the name of a
// folder above it.
func classesIn(names []string, below depths, root int) func(entry string) Class {
	t, all := classes(), Plain
	counts := func(r row, i int) bool {
		return below.holds(r.in, i) && !(r.class == LaterCode && i+len(r.names) <= root)
	}
	var ending []row // those of which all names but the last are the folder's last ones
	for i, name := range names {
		for _, r := range t.beginning(folded(name)) {
			switch n := len(names) - i; {
			case !counts(r, i):
			case r.follows(names[i:]):
				all |= r.class
			case len(r.names) == n+1 && (row{names: r.names[:n]}).follows(names[i:]):
				ending = append(ending, r)
			}
		}
	}
	return func(entry string) Class {
		class := all
		entry = folded(entry)
		for _, r := range t.beginning(entry) {
			if len(r.names) == 1 && counts(r, len(names)) {
				class |= r.class
			}
		}
		for _, r := range ending {
			if matches(r.names[len(r.names)-1], entry) {
				class |= r.class
			}
		}
		return class
	}
}

// follows says that names begins as the row does; the first is known to.
func (r row) follows(names []string) bool {
	if len(names) < len(r.names) {
		return false
	}
	for i, want := range r.names[1:] {
		if !matches(want, folded(names[i+1])) {
			return false
		}
	}
	return true
}

// matches says that a folded name is the one that a row wants.
func matches(want, name string) bool {
	begin, begins := strings.CutSuffix(want, "*")
	end, ends := strings.CutPrefix(want, "*")
	return name == want || (begins && strings.HasPrefix(name, begin) || ends && strings.HasSuffix(name, end)) && !example(name)
}

// example says by the ending that a file has no keys although it is named like one that has.
func example(name string) bool {
	return slices.Contains([]string{".example", ".sample", ".template", ".dist", ".pub"}, path.Ext(name))
}

// folded is the form of a name that is the same for all its spellings on file systems that ignore
// case or invisible characters (HFS+), drop dots and blanks at the end, or have streams after a
// colon (NTFS).
func folded(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || 'A' <= c && c <= 'Z' || c == ':' {
			plain = false
			break
		}
	}
	if !plain {
		name, _, _ = strings.Cut(name, ":")
		name = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			least := r
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				least = min(least, f)
			}
			return unicode.ToLower(least)
		}, name)
	}
	return strings.TrimRight(name, ". ")
}

// shortened is the beginning of the 8.3 name: six characters without dots.
func shortened(name string) string {
	stem := strings.TrimLeft(name, ".")
	if i := strings.LastIndexByte(stem, '.'); i > 0 {
		stem = stem[:i]
	}
	stem = strings.ReplaceAll(stem, ".", "")
	return stem[:min(6, len(stem))]
}

// shortName gives the beginning of an 8.3 name.
func shortName(name string) (stem string, ok bool) {
	stem, number, ok := strings.Cut(name, "~")
	return stem, ok && stem != "" && len(stem) <= 6 && number != "" && number[0] >= '0' && number[0] <= '9'
}
