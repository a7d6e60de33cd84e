package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// What is not supported: clients would name URLs, and the gateway would call them.

// noPush refuses what needs push notifications, and says what there is in their
// place.
func noPush() error {
	return sdk.NewError(sdk.ErrPushNotificationNotSupported, "Push notifications are not supported; subscribe to the task")
}

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (handler) GetTaskPushConfig(context.Context, *sdk.GetTaskPushConfigRequest) (*sdk.PushConfig, error) {
	return nil, noPush()
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (handler) ListTaskPushConfigs(context.Context, *sdk.ListTaskPushConfigRequest) (*sdk.ListTaskPushConfigResponse, error) {
	return nil, noPush()
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (handler) CreateTaskPushConfig(context.Context, *sdk.PushConfig) (*sdk.PushConfig, error) {
	return nil, noPush()
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (handler) DeleteTaskPushConfig(context.Context, *sdk.DeleteTaskPushConfigRequest) error {
	return noPush()
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (handler) GetExtendedAgentCard(context.Context, *sdk.GetExtendedAgentCardRequest) (*sdk.AgentCard, error) {
	return nil, sdk.NewError(sdk.ErrUnsupportedOperation, "There is no extended card")
}
