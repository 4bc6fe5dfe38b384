package recipient

import (
	"context"
	"sync"
	"time"
)

// remembered is longer than the sender retries. A day is the least that a store may choose.
const remembered = 8 * 24 * time.Hour

// Outcome says what became of an event in a Store.
type Outcome string

const (
	Processed Outcome = "processed"
	Seen      Outcome = "seen"
	Busy      Outcome = "busy"
	Full      Outcome = "full"
)

// Record is what a recipient knows of an event. Status is "ok" or "error"; only "ok" counts as seen.
type Record struct {
	Status         string
	ProcessedAt    time.Time
	HandlerVersion string
}

// Store remembers which events had their effect. A database implements it with one transaction.
type Store interface {
	// Find returns nil when there is no record, or none any more.
	Find(ctx context.Context, eventID string) (*Record, error)
	// Once checks again, runs the effect, marks the event and commits, all in one transaction. When the effect fails,
	// everything is undone, the event is marked "error", and the error is returned. The context that the effect gets may
	// carry the transaction.
	Once(ctx context.Context, eventID, version string, effect func(context.Context) error) (Outcome, error)
}

// Key is the key of an event's record in stores that have keys.
func Key(eventID string) string { return "idempotency:event:" + eventID }

// MemoryStore remembers events in one process, until it ends: for tests, and for effects that end with the process.
type MemoryStore struct {
	mutex      sync.Mutex
	records    map[string]Record
	running    map[string]bool
	entriesMax int
}

// NewMemoryStore makes a store of at most entriesMax events.
func NewMemoryStore(entriesMax int) *MemoryStore {
	return &MemoryStore{records: map[string]Record{}, running: map[string]bool{}, entriesMax: entriesMax}
}

func (store *MemoryStore) Find(_ context.Context, eventID string) (*Record, error) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	return store.fresh(Key(eventID)), nil
}

func (store *MemoryStore) Once(ctx context.Context, eventID, version string, effect func(context.Context) error) (Outcome, error) {
	key := Key(eventID)
	if outcome := store.begin(key); outcome != Processed {
		return outcome, nil
	}
	record := Record{Status: "error", HandlerVersion: version}
	// Deferred, so that a panic of the effect marks the event too.
	defer func() { store.end(key, record) }()
	if err := effect(ctx); err != nil {
		return "", err
	}
	record.Status = "ok"
	return Processed, nil
}

func (store *MemoryStore) begin(key string) Outcome {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	if record := store.fresh(key); record != nil && record.Status == "ok" {
		return Seen
	}
	if store.running[key] {
		return Busy
	}
	if len(store.records)+len(store.running) >= store.entriesMax && !store.dropOld() {
		return Full
	}
	store.running[key] = true
	return Processed
}

func (store *MemoryStore) end(key string, record Record) {
	store.mutex.Lock()
	defer store.mutex.Unlock()
	record.ProcessedAt = time.Now()
	delete(store.running, key)
	store.records[key] = record
}

func (store *MemoryStore) fresh(key string) *Record {
	if record, isKnown := store.records[key]; isKnown && time.Since(record.ProcessedAt) < remembered {
		return &record
	}
	return nil
}

func (store *MemoryStore) dropOld() bool {
	for key := range store.records {
		if store.fresh(key) == nil {
			delete(store.records, key)
		}
	}
	return len(store.records)+len(store.running) < store.entriesMax
}
