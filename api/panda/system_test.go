package panda

import (
	"strings"
	"testing"
)

func TestSystem(t *testing.T) {
	w := newWorld(t)
	c := w.callerAs(forHerself("alice"))
	c.check([]answered{
		{get, "/system/is_alive", nil, nothing},
		{get, "/system/is_alive", map[string]any{"x": 1}, `{"success":false,"message":"Argument error: got an unexpected keyword argument 'x'","data":null}`},
		{get, "/system/get_voms_attributes", nil, `{"success":true,"message":"","data":{}}`},
		{get, "/system/get_user_attributes", nil, `{"success":true,"message":"User DN (raw): /CN=alice\nUser DN (clean): alice\nFQANs: atlas\nProduction user: false\n",` +
			`"data":{"fqans":["atlas"],"is_production_user":false,"primary_working_group":null,"production_working_groups":[],"user_dn_clean":"alice","user_dn_raw":"/CN=alice"}}`},
	})
	var got struct{ Parameters, Environment map[string]string }
	c.data(get, "/system/get_attributes", map[string]any{"test_key_string": "test_value", "test_key_int": 12345}, &got)
	if got.Parameters["test_key_string"] != "test_value" || got.Parameters["test_key_int"] != "12345" || got.Environment["REQUEST_METHOD"] != "GET" {
		t.Errorf("%+v", got)
	}
	if body := c.raw(get, "/system/get_attributes", map[string]any{"b": 2, "a": 1}); !strings.HasPrefix(body, `{"success":true,"message":"===== param =====\na = 1\nb = 2\n====== env ======\n`) {
		t.Error(body)
	}
}
