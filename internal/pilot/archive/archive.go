package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Place is where logs are kept.
type Place struct {
	dir    string // empty: S3
	s3     *minio.Client
	bucket string
	prefix string
}

// Open returns a place: the path of a folder, which is made, or s3://bucket/prefix. The S3 server and its keys are in the
// environment, see key. It makes no call.
func Open(place string, env func(string) string) (*Place, error) {
	rest, isS3 := strings.CutPrefix(place, "s3://")
	if !isS3 {
		if strings.Contains(place, "://") {
			return nil, fmt.Errorf("logs: %q: expected the path of a folder, or s3://bucket/prefix", place)
		}
		dir, err := filepath.Abs(place)
		if err == nil {
			err = os.MkdirAll(dir, 0o750)
		}
		if err != nil {
			return nil, fmt.Errorf("logs: %w", err)
		}
		return &Place{dir: dir}, nil
	}
	p := &Place{}
	p.bucket, p.prefix, _ = strings.Cut(rest, "/")
	if p.prefix = strings.Trim(p.prefix, "/"); p.bucket == "" {
		return nil, fmt.Errorf("logs: %q names no bucket; expected s3://bucket/prefix", place)
	}
	var err error
	p.s3, err = client(env)
	return p, err
}

// The environment has the server and the keys under these names. Jobs do not see variables that begin with DIVVY_.
const (
	keyEndpoint = "DIVVY_S3_ENDPOINT" // https://host:port; by default that of AWS
	keyRegion   = "DIVVY_S3_REGION"   // by default us-east-1
	keyAccess   = "DIVVY_S3_ACCESS_KEY"
	keySecret   = "DIVVY_S3_SECRET_KEY" //nolint:gosec // the name of a variable
)

func client(env func(string) string) (*minio.Client, error) {
	for _, key := range []string{keyAccess, keySecret} {
		if env(key) == "" {
			return nil, fmt.Errorf("logs: %s is not set; keeping logs at an S3 server takes %s and %s, and %s where it is not AWS", key, keyAccess, keySecret, keyEndpoint)
		}
	}
	host, secure := env(keyEndpoint), true
	if host == "" {
		host = "s3.amazonaws.com"
	} else if rest, plain := strings.CutPrefix(host, "http://"); plain {
		host, secure = rest, false
	}
	region := env(keyRegion)
	if region == "" {
		region = "us-east-1"
	}
	c, err := minio.New(strings.TrimSuffix(strings.TrimPrefix(host, "https://"), "/"), &minio.Options{
		Creds: credentials.NewStaticV4(env(keyAccess), env(keySecret), ""), Secure: secure, Region: region,
	})
	if err != nil {
		return nil, fmt.Errorf("logs: %s %q: %w", keyEndpoint, env(keyEndpoint), err)
	}
	return c, nil
}

// Where returns where the logs of a name lie, for people.
func (p *Place) Where(name string) string {
	if p.dir != "" {
		return filepath.Join(p.dir, name)
	}
	return "s3://" + path.Join(p.bucket, p.prefix, name)
}

// Keep copies logs below a name, each under its own. Those without a byte are left out.
func (p *Place) Keep(ctx context.Context, name string, logs map[string]*io.SectionReader) error {
	var errs []error
	for _, log := range slices.Sorted(maps.Keys(logs)) {
		text := logs[log]
		if text.Size() == 0 {
			continue
		}
		var err error
		if p.dir != "" {
			err = p.copy(ctx, text, name, log)
		} else {
			_, err = p.s3.PutObject(ctx, p.bucket, path.Join(p.prefix, name, log), text, text.Size(), minio.PutObjectOptions{ContentType: "text/plain"})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s/%s: %w", p.Where(name), log, err))
		}
	}
	return errors.Join(errs...)
}

// copy writes a whole file or none.
func (p *Place) copy(ctx context.Context, text io.Reader, name, log string) error {
	dir := filepath.Join(p.dir, name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	to, err := os.CreateTemp(dir, ".part-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(to, within{ctx, text})
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), filepath.Join(dir, log))
	}
	if err != nil {
		return errors.Join(err, os.Remove(to.Name()))
	}
	return nil
}

// within ends reading with a context.
type within struct {
	ctx context.Context
	r   io.Reader
}

// Read reads while the context lasts.
func (w within) Read(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.r.Read(b)
}
