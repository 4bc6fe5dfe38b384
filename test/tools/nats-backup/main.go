// Command nats-backup does what `nats account backup` and `nats account restore` do, with the library that they do it with:
//
//	nats-backup backup|restore URL CA FOLDER
//
// USERNAME and PASSWORD prove who asks. Each stream has a folder of its own, with its consumers.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jsm.go"
	"github.com/nats-io/nats.go"
)

const patience = 90 * time.Second

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats-backup:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: nats-backup backup|restore URL CA FOLDER")
	}
	connection, err := nats.Connect(args[1], nats.RootCAs(args[2]), nats.UserInfo(os.Getenv("USERNAME"), os.Getenv("PASSWORD")))
	if err != nil {
		return err
	}
	defer connection.Close()
	manager, err := jsm.New(connection)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch args[0] {
	case "backup":
		return backup(ctx, manager, args[3])
	case "restore":
		return restore(ctx, manager, args[3])
	default:
		return fmt.Errorf("there is no command %s", args[0])
	}
}

func backup(ctx context.Context, manager *jsm.Manager, folder string) error {
	streams, missing, _, err := manager.Streams(nil)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("not to be had: %v", missing)
	}
	for _, stream := range streams {
		if _, err := stream.SnapshotToDirectory(ctx, filepath.Join(folder, stream.Name()), jsm.SnapshotConsumers()); err != nil {
			return fmt.Errorf("%s: %w", stream.Name(), err)
		}
		fmt.Println(stream.Name())
	}
	return nil
}

func restore(ctx context.Context, manager *jsm.Manager, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, _, err := manager.RestoreSnapshotFromDirectory(ctx, entry.Name(), filepath.Join(folder, entry.Name())); err != nil {
			return fmt.Errorf("%s: %w", entry.Name(), err)
		}
		fmt.Println(entry.Name())
	}
	return nil
}
