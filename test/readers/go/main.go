// Reads topics with franz-go and hamba/avro from their beginning to their present end, and prints each record as a line of
// JSON. With the argument `defaults` hamba/avro keeps its own limits: it then refuses strings of more than 1 MiB.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The largest message that Hookline takes (MAX_BODY_BYTES): hamba/avro refuses strings of more than 1 MiB by default.
const maxStringBytes = 50 * 1024 * 1024

type line struct {
	Topic     string         `json:"topic"`
	Partition int32          `json:"partition"`
	Offset    int64          `json:"offset"`
	Key       string         `json:"key"`
	Value     map[string]any `json:"value"`
	Object    *digest        `json:"object"`
	Error     string         `json:"error,omitempty"`
}

func main() {
	log.SetFlags(0)
	config := avro.Config{MaxByteSliceSize: maxStringBytes}
	if len(os.Args) > 1 && os.Args[1] == "defaults" {
		config = avro.Config{}
	}
	events, err := newDecoder(config.Freeze())
	if err != nil {
		log.Fatal(err)
	}
	if err := readTopics(context.Background(), events); err != nil {
		log.Fatal(err)
	}
}

func readTopics(ctx context.Context, events *decoder) error {
	topics := strings.Split(os.Getenv("TOPICS"), ",")
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumerGroup("readers-"+rand.Text()),
		kgo.ConsumeTopics(topics...),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	left, err := countRecords(ctx, client, topics)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	lines := json.NewEncoder(out)
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			printed, err := lineOf(ctx, events, record)
			if err != nil {
				return err
			}
			if err := lines.Encode(printed); err != nil {
				return err
			}
			left--
		}
	}
	return out.Flush()
}

// How many records the topics hold now.
func countRecords(ctx context.Context, client *kgo.Client, topics []string) (int64, error) {
	admin := kadm.NewClient(client)
	first, err := admin.ListStartOffsets(ctx, topics...)
	if err != nil {
		return 0, err
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err != nil {
		return 0, err
	}
	var count int64
	ends.Each(func(end kadm.ListedOffset) {
		begin, _ := first.Lookup(end.Topic, end.Partition)
		count += end.Offset - begin.Offset
	})
	return count, nil
}

func lineOf(ctx context.Context, events *decoder, record *kgo.Record) (line, error) {
	printed := line{Topic: record.Topic, Partition: record.Partition, Offset: record.Offset, Key: string(record.Key)}
	event, err := events.decode(ctx, record.Value)
	if err != nil {
		printed.Error = err.Error()
		return printed, nil
	}
	if reference, ok := event["sourceRef"].(map[string]any); ok {
		printed.Object, err = fetchObject(reference)
		if err != nil {
			return line{}, err
		}
	}
	if source, ok := event["source"].(string); ok {
		event["source"] = digestOf([]byte(source))
	} else if event["source"] != nil {
		return line{}, fmt.Errorf("source is a %T", event["source"])
	}
	printed.Value = event
	return printed, nil
}
