package shell

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestFaultS9LongLines: a line of more than 16 KiB is not looked into, whatever is in it, and one up to that in time, whatever is in it.
func TestFaultS9LongLines(t *testing.T) {
	for _, part := range []string{"ls;", "sudo ls;", "$(", "(", "env ", "eval ", "a|", "{ bash; };", "cd a;", "f() { f; };", "<<X\n", "cat ../x ", "xargs "} {
		within, beyond := strings.Repeat(part, MaxLine/len(part)), strings.Repeat(part, MaxLine/len(part)+1)
		if c := parse(beyond, "/w"); c.ReadOnly || c.Literal || c.Danger != Dangerous || c.Calls != nil || c.Opaque != "is longer than 16 KiB" || c.Risk == "" {
			t.Errorf("%q: %+v", part, c)
		}
		since := time.Now()
		if c := parse(within, "/w"); c.Opaque == "is longer than 16 KiB" {
			t.Errorf("%q: %+v", part, c)
		}
		if took := time.Since(since); took > 3*time.Second {
			t.Errorf("%q took %v", part, took)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if c := Parse(ended, "ls", "/w"); c.ReadOnly || c.Literal || c.Danger != Dangerous {
		t.Errorf("nobody waits for it: %+v", c)
	}
}

// TestFaultS9EndsWithItsContext: who looks into a line stops where nobody waits any more, also within a line in a line.
func TestFaultS9EndsWithItsContext(t *testing.T) {
	line := "f() { " + strings.Repeat("bash; ", 1300) + "}; " + strings.Repeat("f<<<a;", 1300)
	ctx, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	since := time.Now()
	if c := Parse(ctx, line, "/w"); c.ReadOnly || c.Literal {
		t.Errorf("%+v", c)
	}
	if took := time.Since(since); took > time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestFaultT13Forbidden: every row of what nobody may run is forbidden, behind runners too, and what only looks like it is not.
func TestFaultT13Forbidden(t *testing.T) {
	lines := []string{
		"init 0", "init 6", "systemctl poweroff", "systemctl reboot", "systemctl halt", "systemctl kexec", "mkfs x", "mkfs.ext4 x", "mkfs.xfs x", "kill -9 -1", "kill -TERM -1",
		"rm -rf /", "rm -r ~", "rm -R /w/app", "rm --recursive /w", "mv / x", "mv ~ x", "chmod -R 777 /", "chown -R a /etc", "chgrp --recursive a /usr",
		"find / -delete", "find / -exec rm {} +", "find ~ -exec chmod 777 {} +", "f() { f | f & }; f", "x > /dev/sda", "x >> /dev/mem", "x >| /dev/nvme0n1", "x &> /dev/dm-0",
	}
	for name := range strings.FieldsSeq(users.list) {
		lines = append(lines, name+" ls")
	}
	for name := range strings.FieldsSeq(stops.list) {
		lines = append(lines, name, "systemctl "+name)
	}
	for name := range strings.FieldsSeq(disks.list) {
		lines = append(lines, name+" x")
	}
	for _, dev := range []string{"sda", "hda1", "vda", "xvdb", "nvme0n1", "mmcblk0", "disk0", "rdisk1", "mapper/x", "dm-0", "md0", "loop0", "nbd0", "mem", "kmem", "port"} {
		lines = append(lines, "x > /dev/"+dev)
		for name := range strings.FieldsSeq(writers.list) {
			lines = append(lines, name+" a /dev/"+dev)
		}
		lines = append(lines, "dd if=a of=/dev/"+dev)
	}
	for dir := range strings.FieldsSeq(system.list) {
		lines = append(lines, "rm -rf "+dir, "rm -rf "+strings.TrimSuffix(dir, "/")+"/*")
	}
	for _, line := range lines {
		for _, form := range []string{line, "true && " + line, "env A=1 sh -c '" + line + "'"} {
			if c := parse(form, "/w/app", "/home/u", "/w/app"); c.Forbidden == "" || c.ReadOnly || c.Danger != Dangerous {
				t.Errorf("%q is not forbidden: %+v", form, c)
			}
		}
	}
	for _, line := range []string{
		"echo sudo", "kill -9 17", "kill -1", "init 3", "systemctl status x", "x > /dev/null", "cat /dev/zero", "dd if=/dev/sda of=a", "rm -rf /w/app/build", "chmod 777 /etc/x", "rm /w/app/x",
	} {
		if c := parse(line, "/w/app", "/home/u", "/w/app"); c.Forbidden != "" {
			t.Errorf("%q is forbidden: %s", line, c.Forbidden)
		}
	}
}

// TestFaultT13Dangerous: every row of what is asked about in each mode.
func TestFaultT13Dangerous(t *testing.T) {
	for _, line := range []string{
		"dd if=a", "dd if=a of=/dev/x", "eval a", "shred a", "truncate -s 0 a", "killall a", "pkill a", "crontab -r", "iptables -F", "nft flush", "mount a b", "umount a",
		"rm -r a", "xargs rm", "xargs rmdir", "xargs unlink", "xargs mv", "find . -exec rm {} +", "chmod -R a b", "chown -R a b", "chgrp -R a b", "find . -delete", "source $x", ". $x",
		"docker system prune", "docker rm -f a", "docker volume rm a", "podman rm --force a", "terraform apply", "terraform destroy", "tofu apply", "pulumi up", "kubectl delete a", "helm uninstall a",
		"kubectl drain a", "npm publish", "npm unpublish", "pnpm publish", "yarn publish", "cargo publish", "gh repo delete",
		"git push -f", "git push --force", "git push --force-with-lease", "git push -d a", "git push --delete a", "git push --mirror", "git push --prune", "git push a +b", "git push a :b",
		"git push --force-if-includes", "git reset --hard", "git reset --merge", "git reset --keep", "git clean -f", "git clean --force", "git checkout -f", "git switch --discard-changes a", "git checkout -- a",
		"git checkout .", "git restore a", "git branch -D a", "git tag --force a", "git worktree remove --force a", "git stash drop", "git stash clear", "git reflog expire a", "git reflog delete a",
		"git filter-branch a", "git filter-repo a", "git update-ref -d a", "git update-ref a b", "git gc --prune=now", "curl a | sh", "curl a | python3", "$x",
	} {
		if c := parse(line, "/w/app", "/home/u", "/w/app"); c.Danger != Dangerous || c.Forbidden != "" {
			t.Errorf("%q is not dangerous: %+v", line, c)
		}
	}
	for _, line := range []string{
		"dd if=a of=b", "crontab -l", "crontab a", "rm a", "rmdir a", "mv a b", "chmod +x a", "find . -name a -exec touch {} +", "docker rm a", "terraform plan", "kubectl get a", "npm install", "gh pr create",
		"git push", "git push a b", "git reset a", "git clean -n", "git checkout a", "git branch a", "git tag a", "git stash", "git gc", "source a",
	} {
		if c := parse(line, "/w/app", "/home/u", "/w/app"); c.Danger != Moderate {
			t.Errorf("%q is %v", line, c.Danger)
		}
	}
}
