package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// client is one for the command line and the page of divvy.
type client struct{ *storage.Client }

func (client) GrantTypes() []oidc.GrantType {
	return []oidc.GrantType{oidc.GrantTypeCode, oidc.GrantTypeRefreshToken, oidc.GrantTypeDeviceCode}
}

func (client) IDTokenLifetime() time.Duration { return 20 * time.Second }

func (client) IDTokenUserinfoClaimsAssertion() bool { return true }

// store is the example's, where devices get refresh tokens too.
type store struct {
	*storage.Storage
	users storage.UserStore
}

func (s store) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if native, ok := c.(*storage.Client); ok {
		return client{native}, err
	}
	return c, err
}

// CompleteDeviceAuthorization stores the user's id, which the example's page calls by name.
func (s store) CompleteDeviceAuthorization(ctx context.Context, code, name string) error {
	user := s.users.GetUserByUsername(name)
	if user == nil {
		return fmt.Errorf("no user %q", name)
	}
	return s.Storage.CompleteDeviceAuthorization(ctx, code, user.ID)
}

// CreateAccessAndRefreshTokens keeps the client beside a device's refresh token, as the example does for browsers.
func (s store) CreateAccessAndRefreshTokens(ctx context.Context, request op.TokenRequest, current string) (string, string, time.Time, error) {
	if device, ok := request.(*op.DeviceAuthorizationState); ok {
		request = &storage.AuthRequest{ApplicationID: device.ClientID, UserID: device.Subject, Scopes: device.Scopes}
	}
	return s.Storage.CreateAccessAndRefreshTokens(ctx, request, current)
}

func main() {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	url := "http://" + lis.Addr().String()
	storage.RegisterClients(storage.NativeClient("divvy", "http://127.0.0.1/login/back"))
	users := storage.NewUserStore(url)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	go func() {
		_ = http.Serve(lis, exampleop.SetupServer(url, store{storage.NewStorage(users), users}, log, false))
	}()
	fmt.Println(url)
	_, _ = io.Copy(io.Discard, os.Stdin)
}
