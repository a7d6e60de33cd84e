package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"sluice/internal/edge/dialect"
)

// Push notifications are not supported: clients would name URLs, and the gateway would call them.

// noPush refuses a request about push notifications, and names the alternative.
func noPush(ctx context.Context, use dialect.Use) error {
	if err := callOf(ctx).chargeUse(use); err != nil {
		return err
	}
	return sdk.NewError(sdk.ErrPushNotificationNotSupported, "Push notifications are not supported; subscribe to the task")
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (handler) GetTaskPushConfig(ctx context.Context, _ *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	return nil, noPush(ctx, dialect.Read)
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (handler) ListTaskPushConfigs(ctx context.Context, _ *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	return nil, noPush(ctx, dialect.Read)
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (handler) CreateTaskPushConfig(ctx context.Context, _ *sdk.PushConfig) (*sdk.PushConfig, error) {
	return nil, noPush(ctx, dialect.Read)
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (handler) DeleteTaskPushConfig(ctx context.Context, _ *sdk.DeleteTaskPushConfigRequest) error {
	return noPush(ctx, dialect.Free)
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (handler) GetExtendedAgentCard(ctx context.Context, _ *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	if err := callOf(ctx).chargeUse(dialect.Read); err != nil {
		return nil, err
	}
	return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "There is no extended card")
}
