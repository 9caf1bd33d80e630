package deploy

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"abxdash/client"
)

// create makes the template, or gives the one of that name the new image.
func (d *run) create(ctx context.Context) error {
	spec := d.spec()
	d.mark(ctx, spec.Name)
	b, err := d.make(ctx, spec)
	if refusesStart(err, spec) {
		d.say(StepCreate, "the platform takes no start command here: start the server in each sandbox with `abxdash template serve SANDBOX`")
		d.r.ServeByHand = true
		spec.StartCommand, spec.ReadyCommand = "", ""
		b, err = d.make(ctx, spec)
	}
	if err != nil {
		return err
	}
	d.build, d.begun = b, true
	d.r.TemplateID, d.r.BuildID = client.OneLine(b.TemplateID, 120), client.OneLine(b.BuildID, 120)
	d.say(StepCreate, "template %s", d.r.TemplateID)
	if spec.Generation == 1 && spec.StartCommand != "" && d.o.Lint.Target.IsExpress() {
		d.r.ServeByHand = true
		d.say(StepCreate, "generation 1 takes no start command: start the server in each sandbox with `abxdash template serve SANDBOX`")
	}
	return nil
}

func (d *run) make(ctx context.Context, spec client.TemplateSpec) (client.TemplateBuild, error) {
	b, err := d.o.Maker.CreateTemplate(ctx, spec)
	if errors.Is(err, client.ErrConflict) {
		d.say(StepCreate, "%s is there already: updating it", spec.Name)
		d.r.Updated = true
		b, err = d.o.Maker.UpdateTemplate(ctx, spec.Name, spec)
	}
	return b, err
}

// refusesStart tells a platform that takes no start command: older pages of
// Express say InvalidParameter for it (alicloud-express §9.1).
func refusesStart(err error, spec client.TemplateSpec) bool {
	var e *client.Error
	if spec.StartCommand == "" || len(spec.Steps) > 0 || !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	text := strings.ToLower(e.Message)
	return strings.Contains(text, "startcommand") || strings.Contains(text, "startcmd") || strings.Contains(text, "start command")
}
