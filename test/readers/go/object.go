package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

type digest struct {
	Bytes  int64  `json:"bytes"`
	Sha256 string `json:"sha256"`
}

func digestOf(data []byte) digest {
	hash := sha256.Sum256(data)
	return digest{Bytes: int64(len(data)), Sha256: hex.EncodeToString(hash[:])}
}

// The message that an event refers to, its size and its SHA-256 verified.
func fetchObject(reference map[string]any) (*digest, error) {
	uri, _ := reference["uri"].(string)
	response, err := http.Get(os.Getenv("BODY_STORE_ENDPOINT") + "/" + strings.TrimPrefix(uri, "s3://"))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	is := digestOf(data)
	if is.Bytes != reference["bytes"] || is.Sha256 != reference["sha256"] {
		return nil, fmt.Errorf("%s is not what was stored", uri)
	}
	return &is, nil
}
