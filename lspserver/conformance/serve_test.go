package conformance

import (
	"context"
	"io"
	"log/slog"
	"os"

	"tandem/agent/config"
	"tandem/agent/model"
	"tandem/agent/model/registry"
	"tandem/agent/store"
	"tandem/lspserver"
	"tandem/lspserver/backend"
	"tandem/sandbox"
	"tandem/tools/builtin"
)

// keeping is serve with a store that can be looked into afterwards.
func keeping(st store.Store) Server {
	return func(ctx context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, own []byte) int {
		return serveWith(ctx, rwc, models, runner, own, func(config.Config) (store.Store, error) { return st, nil })
	}
}

// serve is the real server, without a watch on the disk, whose events come in the time of the machine.
func serve(ctx context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, own []byte) int {
	return serveWith(ctx, rwc, models, runner, own, nil)
}

func serveWith(
	ctx context.Context, rwc io.ReadWriteCloser, models model.Opener, runner sandbox.Runner, own []byte,
	st func(config.Config) (store.Store, error),
) int {
	log := slog.New(slog.DiscardHandler)
	if os.Getenv("LSPTEST_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return lspserver.Serve(ctx, rwc, lspserver.Options{Version: "test", Options: backend.Options{
		Inputs: config.Inputs{Flags: own}, Opener: func(_ config.Config, lend model.Lend) model.Opener {
			if lend != nil {
				return &registry.Registry{Config: config.Config{Model: "editor"}, Editor: lend}
			}
			return models
		}, Tools: builtin.Tools(),
		Runner: runner, Log: log, Store: st,
	}})
}
