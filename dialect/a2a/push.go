package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// What is not supported: clients would name URLs, and the gateway would call them.

// noPush refuses what needs push notifications, and says what there is in their
// place.
func noPush(ctx context.Context) error {
	callOf(ctx)
	return sdk.NewError(sdk.ErrPushNotificationNotSupported, "Push notifications are not supported; subscribe to the task")
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (handler) GetTaskPushConfig(ctx context.Context, _ *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	return nil, noPush(ctx)
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (handler) ListTaskPushConfigs(ctx context.Context, _ *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	return nil, noPush(ctx)
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (handler) CreateTaskPushConfig(ctx context.Context, _ *sdk.PushConfig) (*sdk.PushConfig, error) {
	return nil, noPush(ctx)
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (handler) DeleteTaskPushConfig(ctx context.Context, _ *sdk.DeleteTaskPushConfigRequest) error {
	return noPush(ctx)
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (handler) GetExtendedAgentCard(ctx context.Context, _ *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	callOf(ctx)
	return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "There is no extended card")
}
